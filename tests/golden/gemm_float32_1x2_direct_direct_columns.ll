; ModuleID = "gemm_float32_1x2_direct_direct_columns"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"gemm_float32_1x2_direct_direct_columns"(ptr %"descriptor", ptr %"frame")
{
entry:
  %v36 = alloca i8, i32 192, align 64
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 16
  %v2 = load i64, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 17
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"frame", i64 18
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr i64, ptr %"frame", i64 19
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i64, ptr %"frame", i64 25
  %v10 = load i64, ptr %v9, align 8
  %v11 = icmp ne i64 %v10, 0
  %v12 = getelementptr i64, ptr %"descriptor", i64 16
  %v13 = load i64, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %"frame", i64 %v13
  %v15 = load ptr, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"frame", i64 9
  %v17 = load i64, ptr %v16, align 8
  %v18 = getelementptr i64, ptr %"descriptor", i64 9
  %v19 = load ptr, ptr %v18, align 8
  %v20 = mul i64 %v17, 8
  %v21 = getelementptr i8, ptr %v19, i64 %v20
  %v22 = getelementptr i64, ptr %"frame", i64 26
  %v23 = load ptr, ptr %v22, align 8
  %v24 = getelementptr i64, ptr %v23, i64 8
  %v25 = load i64, ptr %v24, align 8
  %v26 = getelementptr i64, ptr %"frame", i64 24
  %v27 = load i64, ptr %v26, align 8
  %v28 = icmp ne i64 %v27, 0
  %v29 = icmp eq i64 %v25, 2
  %v30 = xor i1 %v29, -1
  %v31 = and i1 %v28, %v30
  %v32 = getelementptr i64, ptr %v23, i64 9
  %v33 = load i64, ptr %v32, align 8
  %v34 = icmp ne i64 %v33, 0
  %v35 = icmp ne i64 %v25, 0
  %v37 = getelementptr i64, ptr %"descriptor", i64 0
  %v38 = load i64, ptr %v37, align 8
  %v39 = getelementptr i64, ptr %"frame", i64 %v38
  %v40 = load ptr, ptr %v39, align 8
  %v41 = getelementptr i64, ptr %"descriptor", i64 1
  %v42 = load i64, ptr %v41, align 8
  %v43 = getelementptr i64, ptr %"frame", i64 %v42
  %v44 = load ptr, ptr %v43, align 8
  %v45 = getelementptr i64, ptr %"descriptor", i64 3
  %v46 = load i64, ptr %v45, align 8
  %v47 = mul i64 %v46, 3
  %v48 = mul i64 %v46, 5
  %v49 = mul i64 %v46, 8
  %v50 = icmp slt i64 %v49, 1024
  %v51 = select i1 %v50, i64 1024, i64 %v49
  %v52 = getelementptr i64, ptr %"descriptor", i64 6
  %v53 = load i64, ptr %v52, align 8
  %v54 = getelementptr i64, ptr %"descriptor", i64 7
  %v55 = load i64, ptr %v54, align 8
  %v56 = mul i64 %v55, 2
  %v57 = mul i64 %v55, 3
  %v58 = mul i64 %v55, 5
  %v59 = udiv i64 %v4, 2
  %v60 = icmp slt i64 0, %v59
  br i1 %v60, label %"loop", label %"done"
loop:
  %v61 = phi i64 [0, %"body"], [%v321, %"done.1.endif"]
  %v62 = mul i64 %v61, %v56
  %v63 = getelementptr i8, ptr %v44, i64 %v62
  %v64 = mul i64 %v61, 2
  %v65 = udiv i64 %v2, 16
  %v66 = icmp slt i64 0, %v65
  br i1 %v66, label %"loop.1", label %"done.1"
done:
  %v323 = mul i64 %v59, 2
  %v324 = mul i64 %v59, %v56
  %v325 = getelementptr i8, ptr %v44, i64 %v324
  %v326 = icmp slt i64 %v323, %v4
  br i1 %v326, label %"loop.7", label %"done.7"
loop.1:
  %v67 = phi i64 [0, %"loop"], [%v201, %"done.3.endif"]
  %v68 = mul i64 %v67, 64
  %v69 = getelementptr i8, ptr %v40, i64 %v68
  %v70 = mul i64 %v67, 16
  %v71 = getelementptr i64, ptr %"descriptor", i64 13
  %v72 = load ptr, ptr %v71, align 8
  %v73 = getelementptr i64, ptr %"frame", i64 8
  %v74 = load i64, ptr %v73, align 8
  %v75 = add i64 %v74, %v70
  %v76 = getelementptr i64, ptr %v72, i64 %v75
  %v77 = load i64, ptr %v76, align 8
  %v78 = and i64 %v6, -4
  %v79 = icmp slt i64 0, %v78
  br i1 %v79, label %"loop.2", label %"done.2"
done.1:
  %v203 = mul i64 %v65, 16
  %v204 = mul i64 %v65, 64
  %v205 = getelementptr i8, ptr %v40, i64 %v204
  %v206 = icmp slt i64 %v203, %v2
  br i1 %v206, label %"done.1.if", label %"done.1.endif"
loop.2:
  %v80 = phi i64 [0, %"loop.1"], [%v140, %"loop.2"]
  %v81 = phi ptr [%v69, %"loop.1"], [%v139, %"loop.2"]
  %v82 = phi ptr [%v63, %"loop.1"], [%v138, %"loop.2"]
  %v83 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v132, %"loop.2"]
  %v84 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v137, %"loop.2"]
  %v85 = call ptr asm  "", "=r,0"(ptr %v81)
  %v86 = call ptr asm  "", "=r,0"(ptr %v82)
  %v87 = getelementptr i8, ptr %v85, i64 %v51
  %v88 = call ptr asm  "", "=r,0"(ptr %v87)
  call void @"llvm.prefetch.p0"(ptr %v88, i32 0, i32 3, i32 1)
  %v89 = load <16 x float>, ptr %v85, align 1
  %v90 = load float, ptr %v86, align 1
  %v91 = insertelement <16 x float> poison, float %v90, i32 0
  %v92 = shufflevector <16 x float> %v91, <16 x float> poison, <16 x i32> zeroinitializer
  %v93 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v89, <16 x float> %v92, <16 x float> %v83)
  %v94 = getelementptr [1 x i8], ptr %v86, i64 %v55
  %v95 = load float, ptr %v94, align 1
  %v96 = insertelement <16 x float> poison, float %v95, i32 0
  %v97 = shufflevector <16 x float> %v96, <16 x float> poison, <16 x i32> zeroinitializer
  %v98 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v89, <16 x float> %v97, <16 x float> %v84)
  %v99 = getelementptr i8, ptr %v86, i64 %v53
  %v100 = getelementptr [1 x i8], ptr %v88, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v100, i32 0, i32 3, i32 1)
  %v101 = getelementptr [1 x i8], ptr %v85, i64 %v46
  %v102 = load <16 x float>, ptr %v101, align 1
  %v103 = load float, ptr %v99, align 1
  %v104 = insertelement <16 x float> poison, float %v103, i32 0
  %v105 = shufflevector <16 x float> %v104, <16 x float> poison, <16 x i32> zeroinitializer
  %v106 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v102, <16 x float> %v105, <16 x float> %v93)
  %v107 = getelementptr [1 x i8], ptr %v99, i64 %v55
  %v108 = load float, ptr %v107, align 1
  %v109 = insertelement <16 x float> poison, float %v108, i32 0
  %v110 = shufflevector <16 x float> %v109, <16 x float> poison, <16 x i32> zeroinitializer
  %v111 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v102, <16 x float> %v110, <16 x float> %v98)
  %v112 = getelementptr i8, ptr %v99, i64 %v53
  %v113 = getelementptr [2 x i8], ptr %v88, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v113, i32 0, i32 3, i32 1)
  %v114 = getelementptr [2 x i8], ptr %v85, i64 %v46
  %v115 = load <16 x float>, ptr %v114, align 1
  %v116 = load float, ptr %v112, align 1
  %v117 = insertelement <16 x float> poison, float %v116, i32 0
  %v118 = shufflevector <16 x float> %v117, <16 x float> poison, <16 x i32> zeroinitializer
  %v119 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v115, <16 x float> %v118, <16 x float> %v106)
  %v120 = getelementptr [1 x i8], ptr %v112, i64 %v55
  %v121 = load float, ptr %v120, align 1
  %v122 = insertelement <16 x float> poison, float %v121, i32 0
  %v123 = shufflevector <16 x float> %v122, <16 x float> poison, <16 x i32> zeroinitializer
  %v124 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v115, <16 x float> %v123, <16 x float> %v111)
  %v125 = getelementptr i8, ptr %v112, i64 %v53
  %v126 = getelementptr [1 x i8], ptr %v88, i64 %v47
  call void @"llvm.prefetch.p0"(ptr %v126, i32 0, i32 3, i32 1)
  %v127 = getelementptr [1 x i8], ptr %v85, i64 %v47
  %v128 = load <16 x float>, ptr %v127, align 1
  %v129 = load float, ptr %v125, align 1
  %v130 = insertelement <16 x float> poison, float %v129, i32 0
  %v131 = shufflevector <16 x float> %v130, <16 x float> poison, <16 x i32> zeroinitializer
  %v132 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v128, <16 x float> %v131, <16 x float> %v119)
  %v133 = getelementptr [1 x i8], ptr %v125, i64 %v55
  %v134 = load float, ptr %v133, align 1
  %v135 = insertelement <16 x float> poison, float %v134, i32 0
  %v136 = shufflevector <16 x float> %v135, <16 x float> poison, <16 x i32> zeroinitializer
  %v137 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v128, <16 x float> %v136, <16 x float> %v124)
  %v138 = getelementptr i8, ptr %v125, i64 %v53
  %v139 = getelementptr [4 x i8], ptr %v85, i64 %v46
  %v140 = add i64 %v80, 4
  %v141 = icmp slt i64 %v140, %v78
  br i1 %v141, label %"loop.2", label %"done.2"
done.2:
  %v142 = phi ptr [%v69, %"loop.1"], [%v139, %"loop.2"]
  %v143 = phi ptr [%v63, %"loop.1"], [%v138, %"loop.2"]
  %v144 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v132, %"loop.2"]
  %v145 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v137, %"loop.2"]
  %v146 = icmp slt i64 %v78, %v6
  br i1 %v146, label %"loop.3", label %"done.3"
loop.3:
  %v147 = phi i64 [%v78, %"done.2"], [%v168, %"loop.3"]
  %v148 = phi ptr [%v142, %"done.2"], [%v167, %"loop.3"]
  %v149 = phi ptr [%v143, %"done.2"], [%v166, %"loop.3"]
  %v150 = phi <16 x float> [%v144, %"done.2"], [%v160, %"loop.3"]
  %v151 = phi <16 x float> [%v145, %"done.2"], [%v165, %"loop.3"]
  %v152 = call ptr asm  "", "=r,0"(ptr %v148)
  %v153 = call ptr asm  "", "=r,0"(ptr %v149)
  %v154 = getelementptr i8, ptr %v152, i64 %v51
  %v155 = call ptr asm  "", "=r,0"(ptr %v154)
  call void @"llvm.prefetch.p0"(ptr %v155, i32 0, i32 3, i32 1)
  %v156 = load <16 x float>, ptr %v152, align 1
  %v157 = load float, ptr %v153, align 1
  %v158 = insertelement <16 x float> poison, float %v157, i32 0
  %v159 = shufflevector <16 x float> %v158, <16 x float> poison, <16 x i32> zeroinitializer
  %v160 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v156, <16 x float> %v159, <16 x float> %v150)
  %v161 = getelementptr [1 x i8], ptr %v153, i64 %v55
  %v162 = load float, ptr %v161, align 1
  %v163 = insertelement <16 x float> poison, float %v162, i32 0
  %v164 = shufflevector <16 x float> %v163, <16 x float> poison, <16 x i32> zeroinitializer
  %v165 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v156, <16 x float> %v164, <16 x float> %v151)
  %v166 = getelementptr i8, ptr %v153, i64 %v53
  %v167 = getelementptr [1 x i8], ptr %v152, i64 %v46
  %v168 = add i64 %v147, 1
  %v169 = icmp slt i64 %v168, %v6
  br i1 %v169, label %"loop.3", label %"done.3"
done.3:
  %v170 = phi ptr [%v142, %"done.2"], [%v167, %"loop.3"]
  %v171 = phi ptr [%v143, %"done.2"], [%v166, %"loop.3"]
  %v172 = phi <16 x float> [%v144, %"done.2"], [%v160, %"loop.3"]
  %v173 = phi <16 x float> [%v145, %"done.2"], [%v165, %"loop.3"]
  %v174 = and i1 %v31, %v35
  %v175 = or i1 %v34, %v174
  br i1 %v175, label %"done.3.if", label %"done.3.else"
done.3.if:
  store <16 x float> %v172, ptr %v36, align 1
  %v176 = getelementptr i8, ptr %v36, i64 64
  store <16 x float> %v173, ptr %v176, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v70, i64 16, i64 %v64, i64 2)
  br label %"done.3.endif"
done.3.else:
  br i1 %v31, label %"done.3.else.if", label %"done.3.else.else"
done.3.endif:
  %v201 = add i64 %v67, 1
  %v202 = icmp slt i64 %v201, %v65
  br i1 %v202, label %"loop.1", label %"done.1"
done.3.else.if:
  %v177 = mul i64 %v64, 8
  %v178 = getelementptr i8, ptr %v21, i64 %v177
  %v179 = getelementptr i64, ptr %v178, i64 0
  %v180 = load i64, ptr %v179, align 8
  %v181 = getelementptr i8, ptr %v15, i64 %v180
  %v182 = getelementptr i8, ptr %v181, i64 %v77
  store <16 x float> %v172, ptr %v182, align 1
  %v183 = getelementptr i64, ptr %v178, i64 1
  %v184 = load i64, ptr %v183, align 8
  %v185 = getelementptr i8, ptr %v15, i64 %v184
  %v186 = getelementptr i8, ptr %v185, i64 %v77
  store <16 x float> %v173, ptr %v186, align 1
  br label %"done.3.else.endif"
done.3.else.else:
  %v187 = mul i64 %v64, 8
  %v188 = getelementptr i8, ptr %v21, i64 %v187
  %v189 = getelementptr i64, ptr %v188, i64 0
  %v190 = load i64, ptr %v189, align 8
  %v191 = getelementptr i8, ptr %v15, i64 %v190
  %v192 = getelementptr i8, ptr %v191, i64 %v77
  %v193 = load <16 x float>, ptr %v192, align 1
  %v194 = fadd <16 x float> %v193, %v172
  store <16 x float> %v194, ptr %v192, align 1
  %v195 = getelementptr i64, ptr %v188, i64 1
  %v196 = load i64, ptr %v195, align 8
  %v197 = getelementptr i8, ptr %v15, i64 %v196
  %v198 = getelementptr i8, ptr %v197, i64 %v77
  %v199 = load <16 x float>, ptr %v198, align 1
  %v200 = fadd <16 x float> %v199, %v173
  store <16 x float> %v200, ptr %v198, align 1
  br label %"done.3.else.endif"
done.3.else.endif:
  br label %"done.3.endif"
done.1.if:
  %v207 = sub i64 %v2, %v203
  %v208 = icmp slt i64 0, %v207
  br i1 %v208, label %"loop.4", label %"done.4"
done.1.endif:
  %v321 = add i64 %v61, 1
  %v322 = icmp slt i64 %v321, %v59
  br i1 %v322, label %"loop", label %"done"
loop.4:
  %v209 = phi i64 [0, %"done.1.if"], [%v319, %"done.6"]
  %v210 = sub i64 %v207, %v209
  %v211 = icmp slt i64 16, %v210
  %v212 = select i1 %v211, i64 16, i64 %v210
  %v213 = trunc i64 %v212 to i32
  %v214 = insertelement <16 x i32> poison, i32 %v213, i32 0
  %v215 = shufflevector <16 x i32> %v214, <16 x i32> poison, <16 x i32> zeroinitializer
  %v216 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v215
  %v217 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v216)
  %v218 = mul i64 %v209, 4
  %v219 = getelementptr i8, ptr %v205, i64 %v218
  %v220 = and i64 %v6, -4
  %v221 = icmp slt i64 0, %v220
  br i1 %v221, label %"loop.5", label %"done.5"
done.4:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v203, i64 %v207, i64 %v64, i64 2)
  br label %"done.1.endif"
loop.5:
  %v222 = phi i64 [0, %"loop.4"], [%v282, %"loop.5"]
  %v223 = phi ptr [%v219, %"loop.4"], [%v281, %"loop.5"]
  %v224 = phi ptr [%v63, %"loop.4"], [%v280, %"loop.5"]
  %v225 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v274, %"loop.5"]
  %v226 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v279, %"loop.5"]
  %v227 = call ptr asm  "", "=r,0"(ptr %v223)
  %v228 = call ptr asm  "", "=r,0"(ptr %v224)
  %v229 = getelementptr i8, ptr %v227, i64 %v51
  %v230 = call ptr asm  "", "=r,0"(ptr %v229)
  call void @"llvm.prefetch.p0"(ptr %v230, i32 0, i32 3, i32 1)
  %v231 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v227, i32 1, <16 x i1> %v217, <16 x float> zeroinitializer)
  %v232 = load float, ptr %v228, align 1
  %v233 = insertelement <16 x float> poison, float %v232, i32 0
  %v234 = shufflevector <16 x float> %v233, <16 x float> poison, <16 x i32> zeroinitializer
  %v235 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v231, <16 x float> %v234, <16 x float> %v225)
  %v236 = getelementptr [1 x i8], ptr %v228, i64 %v55
  %v237 = load float, ptr %v236, align 1
  %v238 = insertelement <16 x float> poison, float %v237, i32 0
  %v239 = shufflevector <16 x float> %v238, <16 x float> poison, <16 x i32> zeroinitializer
  %v240 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v231, <16 x float> %v239, <16 x float> %v226)
  %v241 = getelementptr i8, ptr %v228, i64 %v53
  %v242 = getelementptr [1 x i8], ptr %v230, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v242, i32 0, i32 3, i32 1)
  %v243 = getelementptr [1 x i8], ptr %v227, i64 %v46
  %v244 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v243, i32 1, <16 x i1> %v217, <16 x float> zeroinitializer)
  %v245 = load float, ptr %v241, align 1
  %v246 = insertelement <16 x float> poison, float %v245, i32 0
  %v247 = shufflevector <16 x float> %v246, <16 x float> poison, <16 x i32> zeroinitializer
  %v248 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v244, <16 x float> %v247, <16 x float> %v235)
  %v249 = getelementptr [1 x i8], ptr %v241, i64 %v55
  %v250 = load float, ptr %v249, align 1
  %v251 = insertelement <16 x float> poison, float %v250, i32 0
  %v252 = shufflevector <16 x float> %v251, <16 x float> poison, <16 x i32> zeroinitializer
  %v253 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v244, <16 x float> %v252, <16 x float> %v240)
  %v254 = getelementptr i8, ptr %v241, i64 %v53
  %v255 = getelementptr [2 x i8], ptr %v230, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v255, i32 0, i32 3, i32 1)
  %v256 = getelementptr [2 x i8], ptr %v227, i64 %v46
  %v257 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v256, i32 1, <16 x i1> %v217, <16 x float> zeroinitializer)
  %v258 = load float, ptr %v254, align 1
  %v259 = insertelement <16 x float> poison, float %v258, i32 0
  %v260 = shufflevector <16 x float> %v259, <16 x float> poison, <16 x i32> zeroinitializer
  %v261 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v257, <16 x float> %v260, <16 x float> %v248)
  %v262 = getelementptr [1 x i8], ptr %v254, i64 %v55
  %v263 = load float, ptr %v262, align 1
  %v264 = insertelement <16 x float> poison, float %v263, i32 0
  %v265 = shufflevector <16 x float> %v264, <16 x float> poison, <16 x i32> zeroinitializer
  %v266 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v257, <16 x float> %v265, <16 x float> %v253)
  %v267 = getelementptr i8, ptr %v254, i64 %v53
  %v268 = getelementptr [1 x i8], ptr %v230, i64 %v47
  call void @"llvm.prefetch.p0"(ptr %v268, i32 0, i32 3, i32 1)
  %v269 = getelementptr [1 x i8], ptr %v227, i64 %v47
  %v270 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v269, i32 1, <16 x i1> %v217, <16 x float> zeroinitializer)
  %v271 = load float, ptr %v267, align 1
  %v272 = insertelement <16 x float> poison, float %v271, i32 0
  %v273 = shufflevector <16 x float> %v272, <16 x float> poison, <16 x i32> zeroinitializer
  %v274 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v270, <16 x float> %v273, <16 x float> %v261)
  %v275 = getelementptr [1 x i8], ptr %v267, i64 %v55
  %v276 = load float, ptr %v275, align 1
  %v277 = insertelement <16 x float> poison, float %v276, i32 0
  %v278 = shufflevector <16 x float> %v277, <16 x float> poison, <16 x i32> zeroinitializer
  %v279 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v270, <16 x float> %v278, <16 x float> %v266)
  %v280 = getelementptr i8, ptr %v267, i64 %v53
  %v281 = getelementptr [4 x i8], ptr %v227, i64 %v46
  %v282 = add i64 %v222, 4
  %v283 = icmp slt i64 %v282, %v220
  br i1 %v283, label %"loop.5", label %"done.5"
done.5:
  %v284 = phi ptr [%v219, %"loop.4"], [%v281, %"loop.5"]
  %v285 = phi ptr [%v63, %"loop.4"], [%v280, %"loop.5"]
  %v286 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v274, %"loop.5"]
  %v287 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v279, %"loop.5"]
  %v288 = icmp slt i64 %v220, %v6
  br i1 %v288, label %"loop.6", label %"done.6"
loop.6:
  %v289 = phi i64 [%v220, %"done.5"], [%v310, %"loop.6"]
  %v290 = phi ptr [%v284, %"done.5"], [%v309, %"loop.6"]
  %v291 = phi ptr [%v285, %"done.5"], [%v308, %"loop.6"]
  %v292 = phi <16 x float> [%v286, %"done.5"], [%v302, %"loop.6"]
  %v293 = phi <16 x float> [%v287, %"done.5"], [%v307, %"loop.6"]
  %v294 = call ptr asm  "", "=r,0"(ptr %v290)
  %v295 = call ptr asm  "", "=r,0"(ptr %v291)
  %v296 = getelementptr i8, ptr %v294, i64 %v51
  %v297 = call ptr asm  "", "=r,0"(ptr %v296)
  call void @"llvm.prefetch.p0"(ptr %v297, i32 0, i32 3, i32 1)
  %v298 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v294, i32 1, <16 x i1> %v217, <16 x float> zeroinitializer)
  %v299 = load float, ptr %v295, align 1
  %v300 = insertelement <16 x float> poison, float %v299, i32 0
  %v301 = shufflevector <16 x float> %v300, <16 x float> poison, <16 x i32> zeroinitializer
  %v302 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v298, <16 x float> %v301, <16 x float> %v292)
  %v303 = getelementptr [1 x i8], ptr %v295, i64 %v55
  %v304 = load float, ptr %v303, align 1
  %v305 = insertelement <16 x float> poison, float %v304, i32 0
  %v306 = shufflevector <16 x float> %v305, <16 x float> poison, <16 x i32> zeroinitializer
  %v307 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v298, <16 x float> %v306, <16 x float> %v293)
  %v308 = getelementptr i8, ptr %v295, i64 %v53
  %v309 = getelementptr [1 x i8], ptr %v294, i64 %v46
  %v310 = add i64 %v289, 1
  %v311 = icmp slt i64 %v310, %v6
  br i1 %v311, label %"loop.6", label %"done.6"
done.6:
  %v312 = phi ptr [%v284, %"done.5"], [%v309, %"loop.6"]
  %v313 = phi ptr [%v285, %"done.5"], [%v308, %"loop.6"]
  %v314 = phi <16 x float> [%v286, %"done.5"], [%v302, %"loop.6"]
  %v315 = phi <16 x float> [%v287, %"done.5"], [%v307, %"loop.6"]
  %v316 = mul i64 %v209, 4
  %v317 = getelementptr i8, ptr %v36, i64 %v316
  store <16 x float> %v314, ptr %v317, align 1
  %v318 = getelementptr i8, ptr %v317, i64 64
  store <16 x float> %v315, ptr %v318, align 1
  %v319 = add i64 %v209, 16
  %v320 = icmp slt i64 %v319, %v207
  br i1 %v320, label %"loop.4", label %"done.4"
loop.7:
  %v327 = phi i64 [%v323, %"done"], [%v420, %"done.8.endif"]
  %v328 = sub i64 %v4, %v327
  %v329 = icmp slt i64 1, %v328
  %v330 = select i1 %v329, i64 1, i64 %v328
  %v331 = sub i64 %v327, %v323
  %v332 = mul i64 %v331, %v55
  %v333 = getelementptr i8, ptr %v325, i64 %v332
  %v334 = sub i64 %v330, 1
  %v335 = icmp slt i64 0, %v334
  %v336 = select i1 %v335, i64 0, i64 %v334
  %v337 = mul i64 %v336, %v55
  %v338 = udiv i64 %v2, 16
  %v339 = icmp slt i64 0, %v338
  br i1 %v339, label %"loop.8", label %"done.8"
done.7:
  ret void
loop.8:
  %v340 = phi i64 [0, %"loop.7"], [%v379, %"done.9.endif"]
  %v341 = mul i64 %v340, 64
  %v342 = getelementptr i8, ptr %v40, i64 %v341
  %v343 = mul i64 %v340, 16
  %v344 = getelementptr i64, ptr %"descriptor", i64 13
  %v345 = load ptr, ptr %v344, align 8
  %v346 = getelementptr i64, ptr %"frame", i64 8
  %v347 = load i64, ptr %v346, align 8
  %v348 = add i64 %v347, %v343
  %v349 = getelementptr i64, ptr %v345, i64 %v348
  %v350 = load i64, ptr %v349, align 8
  br label %"repeat"
done.8:
  %v381 = mul i64 %v338, 16
  %v382 = mul i64 %v338, 64
  %v383 = getelementptr i8, ptr %v40, i64 %v382
  %v384 = icmp slt i64 %v381, %v2
  br i1 %v384, label %"done.8.if", label %"done.8.endif"
repeat:
  %v351 = phi i64 [0, %"loop.8"], [%v367, %"repeat"]
  %v352 = phi ptr [%v342, %"loop.8"], [%v366, %"repeat"]
  %v353 = phi ptr [%v333, %"loop.8"], [%v365, %"repeat"]
  %v354 = phi <16 x float> [splat (float              0x0), %"loop.8"], [%v364, %"repeat"]
  %v355 = call ptr asm  "", "=r,0"(ptr %v352)
  %v356 = call ptr asm  "", "=r,0"(ptr %v353)
  %v357 = getelementptr i8, ptr %v355, i64 %v51
  %v358 = call ptr asm  "", "=r,0"(ptr %v357)
  call void @"llvm.prefetch.p0"(ptr %v358, i32 0, i32 3, i32 1)
  %v359 = load <16 x float>, ptr %v355, align 1
  %v360 = getelementptr i8, ptr %v356, i64 %v337
  %v361 = load float, ptr %v360, align 1
  %v362 = insertelement <16 x float> poison, float %v361, i32 0
  %v363 = shufflevector <16 x float> %v362, <16 x float> poison, <16 x i32> zeroinitializer
  %v364 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v359, <16 x float> %v363, <16 x float> %v354)
  %v365 = getelementptr i8, ptr %v356, i64 %v53
  %v366 = getelementptr [1 x i8], ptr %v355, i64 %v46
  %v367 = add i64 %v351, 1
  %v368 = icmp slt i64 %v367, %v6
  br i1 %v368, label %"repeat", label %"done.9"
done.9:
  %v369 = and i1 %v31, %v35
  %v370 = or i1 %v34, %v369
  %v371 = xor i1 %v31, -1
  %v372 = or i1 %v370, %v371
  br i1 %v372, label %"done.9.if", label %"done.9.else"
done.9.if:
  store <16 x float> %v364, ptr %v36, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v343, i64 16, i64 %v327, i64 %v330)
  br label %"done.9.endif"
done.9.else:
  %v373 = mul i64 %v327, 8
  %v374 = getelementptr i8, ptr %v21, i64 %v373
  %v375 = getelementptr i64, ptr %v374, i64 0
  %v376 = load i64, ptr %v375, align 8
  %v377 = getelementptr i8, ptr %v15, i64 %v376
  %v378 = getelementptr i8, ptr %v377, i64 %v350
  store <16 x float> %v364, ptr %v378, align 1
  br label %"done.9.endif"
done.9.endif:
  %v379 = add i64 %v340, 1
  %v380 = icmp slt i64 %v379, %v338
  br i1 %v380, label %"loop.8", label %"done.8"
done.8.if:
  %v385 = sub i64 %v2, %v381
  %v386 = icmp slt i64 0, %v385
  br i1 %v386, label %"loop.9", label %"done.10"
done.8.endif:
  %v420 = add i64 %v327, 1
  %v421 = icmp slt i64 %v420, %v4
  br i1 %v421, label %"loop.7", label %"done.7"
loop.9:
  %v387 = phi i64 [0, %"done.8.if"], [%v418, %"done.11"]
  %v388 = sub i64 %v385, %v387
  %v389 = icmp slt i64 16, %v388
  %v390 = select i1 %v389, i64 16, i64 %v388
  %v391 = trunc i64 %v390 to i32
  %v392 = insertelement <16 x i32> poison, i32 %v391, i32 0
  %v393 = shufflevector <16 x i32> %v392, <16 x i32> poison, <16 x i32> zeroinitializer
  %v394 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v393
  %v395 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v394)
  %v396 = mul i64 %v387, 4
  %v397 = getelementptr i8, ptr %v383, i64 %v396
  br label %"repeat.1"
done.10:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v381, i64 %v385, i64 %v327, i64 %v330)
  br label %"done.8.endif"
repeat.1:
  %v398 = phi i64 [0, %"loop.9"], [%v414, %"repeat.1"]
  %v399 = phi ptr [%v397, %"loop.9"], [%v413, %"repeat.1"]
  %v400 = phi ptr [%v333, %"loop.9"], [%v412, %"repeat.1"]
  %v401 = phi <16 x float> [splat (float              0x0), %"loop.9"], [%v411, %"repeat.1"]
  %v402 = call ptr asm  "", "=r,0"(ptr %v399)
  %v403 = call ptr asm  "", "=r,0"(ptr %v400)
  %v404 = getelementptr i8, ptr %v402, i64 %v51
  %v405 = call ptr asm  "", "=r,0"(ptr %v404)
  call void @"llvm.prefetch.p0"(ptr %v405, i32 0, i32 3, i32 1)
  %v406 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v402, i32 1, <16 x i1> %v395, <16 x float> zeroinitializer)
  %v407 = getelementptr i8, ptr %v403, i64 %v337
  %v408 = load float, ptr %v407, align 1
  %v409 = insertelement <16 x float> poison, float %v408, i32 0
  %v410 = shufflevector <16 x float> %v409, <16 x float> poison, <16 x i32> zeroinitializer
  %v411 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v406, <16 x float> %v410, <16 x float> %v401)
  %v412 = getelementptr i8, ptr %v403, i64 %v53
  %v413 = getelementptr [1 x i8], ptr %v402, i64 %v46
  %v414 = add i64 %v398, 1
  %v415 = icmp slt i64 %v414, %v6
  br i1 %v415, label %"repeat.1", label %"done.11"
done.11:
  %v416 = mul i64 %v387, 4
  %v417 = getelementptr i8, ptr %v36, i64 %v416
  store <16 x float> %v411, ptr %v417, align 1
  %v418 = add i64 %v387, 16
  %v419 = icmp slt i64 %v418, %v385
  br i1 %v419, label %"loop.9", label %"done.10"
}

define internal void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 25
  %v2 = load i64, ptr %v1, align 8
  %v3 = icmp ne i64 %v2, 0
  %v4 = getelementptr i64, ptr %"descriptor", i64 16
  %v5 = load i64, ptr %v4, align 8
  %v6 = getelementptr i64, ptr %"frame", i64 %v5
  %v7 = load ptr, ptr %v6, align 8
  %v8 = getelementptr i64, ptr %"frame", i64 9
  %v9 = load i64, ptr %v8, align 8
  %v10 = getelementptr i64, ptr %"descriptor", i64 9
  %v11 = load ptr, ptr %v10, align 8
  %v12 = mul i64 %v9, 8
  %v13 = getelementptr i8, ptr %v11, i64 %v12
  %v14 = getelementptr i64, ptr %"frame", i64 26
  %v15 = load ptr, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %v15, i64 8
  %v17 = load i64, ptr %v16, align 8
  %v18 = getelementptr i64, ptr %"frame", i64 24
  %v19 = load i64, ptr %v18, align 8
  %v20 = icmp ne i64 %v19, 0
  %v21 = icmp eq i64 %v17, 2
  %v22 = xor i1 %v21, -1
  %v23 = and i1 %v20, %v22
  %v24 = getelementptr i64, ptr %v15, i64 9
  %v25 = load i64, ptr %v24, align 8
  %v26 = icmp ne i64 %v25, 0
  %v27 = icmp ne i64 %v17, 0
  %v28 = mul i64 %".6", 8
  %v29 = getelementptr i8, ptr %v13, i64 %v28
  %v30 = and i1 %v23, %v27
  %v31 = or i1 %v26, %v30
  %v32 = xor i1 %v23, -1
  %v33 = or i1 %v32, %v27
  %v34 = getelementptr i64, ptr %"descriptor", i64 13
  %v35 = load ptr, ptr %v34, align 8
  %v36 = getelementptr i64, ptr %"frame", i64 8
  %v37 = load i64, ptr %v36, align 8
  %v38 = add i64 %v37, %".4"
  %v39 = getelementptr i64, ptr %v35, i64 %v38
  %v40 = load i64, ptr %v39, align 8
  %v41 = icmp slt i64 0, %".5"
  br i1 %v41, label %"loop", label %"done"
loop:
  %v42 = phi i64 [0, %"body"], [%v102, %"loop.endif"]
  %v43 = sub i64 %".5", %v42
  %v44 = icmp slt i64 16, %v43
  %v45 = select i1 %v44, i64 16, i64 %v43
  %v46 = trunc i64 %v45 to i32
  %v47 = insertelement <16 x i32> poison, i32 %v46, i32 0
  %v48 = shufflevector <16 x i32> %v47, <16 x i32> poison, <16 x i32> zeroinitializer
  %v49 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v48
  %v50 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v49)
  %v51 = mul i64 %v42, 4
  %v52 = getelementptr i8, ptr %".3", i64 %v51
  %v53 = mul i64 %v42, 4
  %v54 = add i64 %v40, %v53
  %v55 = getelementptr i8, ptr %v7, i64 %v54
  br i1 %v31, label %"loop.if", label %"loop.else"
done:
  ret void
loop.if:
  %v56 = icmp slt i64 0, %".7"
  br i1 %v56, label %"loop.1", label %"done.1"
loop.else:
  br i1 %v23, label %"loop.else.if", label %"loop.else.else"
loop.endif:
  %v102 = add i64 %v42, 16
  %v103 = icmp slt i64 %v102, %".5"
  br i1 %v103, label %"loop", label %"done"
loop.1:
  %v57 = phi i64 [0, %"loop.if"], [%v78, %"loop.1.endif.endif"]
  %v58 = mul i64 %v57, 64
  %v59 = getelementptr i8, ptr %v52, i64 %v58
  %v60 = load <16 x float>, ptr %v59, align 1
  %v61 = getelementptr i64, ptr %v29, i64 %v57
  %v62 = load i64, ptr %v61, align 8
  %v63 = getelementptr i8, ptr %v55, i64 %v62
  %v64 = load float, ptr %v15, align 1
  %v65 = insertelement <16 x float> poison, float %v64, i32 0
  %v66 = shufflevector <16 x float> %v65, <16 x float> poison, <16 x i32> zeroinitializer
  %v67 = getelementptr i8, ptr %v15, i64 32
  %v68 = load float, ptr %v67, align 1
  %v69 = insertelement <16 x float> poison, float %v68, i32 0
  %v70 = shufflevector <16 x float> %v69, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v26, label %"loop.1.if", label %"loop.1.else"
done.1:
  br label %"loop.endif"
loop.1.if:
  %v71 = fmul <16 x float> %v66, %v60
  br label %"loop.1.endif"
loop.1.else:
  br label %"loop.1.endif"
loop.1.endif:
  %v72 = phi <16 x float> [%v71, %"loop.1.if"], [%v60, %"loop.1.else"]
  br i1 %v33, label %"loop.1.endif.if", label %"loop.1.endif.else"
loop.1.endif.if:
  %v73 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v63, i32 1, <16 x i1> %v50, <16 x float> zeroinitializer)
  br i1 %v23, label %"loop.1.endif.if.if", label %"loop.1.endif.if.else"
loop.1.endif.else:
  br label %"loop.1.endif.endif"
loop.1.endif.endif:
  %v77 = phi <16 x float> [%v76, %"loop.1.endif.if.endif"], [%v72, %"loop.1.endif.else"]
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v77, ptr %v63, i32 1, <16 x i1> %v50)
  %v78 = add i64 %v57, 1
  %v79 = icmp slt i64 %v78, %".7"
  br i1 %v79, label %"loop.1", label %"done.1"
loop.1.endif.if.if:
  %v74 = fmul <16 x float> %v70, %v73
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.else:
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.endif:
  %v75 = phi <16 x float> [%v74, %"loop.1.endif.if.if"], [%v73, %"loop.1.endif.if.else"]
  %v76 = fadd <16 x float> %v75, %v72
  br label %"loop.1.endif.endif"
loop.else.if:
  %v80 = icmp slt i64 0, %".7"
  br i1 %v80, label %"loop.2", label %"done.2"
loop.else.else:
  %v90 = icmp slt i64 0, %".7"
  br i1 %v90, label %"loop.3", label %"done.3"
loop.else.endif:
  br label %"loop.endif"
loop.2:
  %v81 = phi i64 [0, %"loop.else.if"], [%v88, %"loop.2"]
  %v82 = mul i64 %v81, 64
  %v83 = getelementptr i8, ptr %v52, i64 %v82
  %v84 = load <16 x float>, ptr %v83, align 1
  %v85 = getelementptr i64, ptr %v29, i64 %v81
  %v86 = load i64, ptr %v85, align 8
  %v87 = getelementptr i8, ptr %v55, i64 %v86
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v84, ptr %v87, i32 1, <16 x i1> %v50)
  %v88 = add i64 %v81, 1
  %v89 = icmp slt i64 %v88, %".7"
  br i1 %v89, label %"loop.2", label %"done.2"
done.2:
  br label %"loop.else.endif"
loop.3:
  %v91 = phi i64 [0, %"loop.else.else"], [%v100, %"loop.3"]
  %v92 = mul i64 %v91, 64
  %v93 = getelementptr i8, ptr %v52, i64 %v92
  %v94 = load <16 x float>, ptr %v93, align 1
  %v95 = getelementptr i64, ptr %v29, i64 %v91
  %v96 = load i64, ptr %v95, align 8
  %v97 = getelementptr i8, ptr %v55, i64 %v96
  %v98 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v97, i32 1, <16 x i1> %v50, <16 x float> zeroinitializer)
  %v99 = fadd <16 x float> %v98, %v94
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v99, ptr %v97, i32 1, <16 x i1> %v50)
  %v100 = add i64 %v91, 1
  %v101 = icmp slt i64 %v100, %".7"
  br i1 %v101, label %"loop.3", label %"done.3"
done.3:
  br label %"loop.else.endif"
}

declare <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %".1", i32 %".2", <16 x i1> %".3", <16 x float> %".4")

declare void @"llvm.masked.store.v16f32.p0"(<16 x float> %".1", ptr %".2", i32 %".3", <16 x i1> %".4")

declare void @"llvm.prefetch.p0"(ptr %".1", i32 %".2", i32 %".3", i32 %".4")

declare <16 x float> @"llvm.fma.v16f32"(<16 x float> %".1", <16 x float> %".2", <16 x float> %".3")
